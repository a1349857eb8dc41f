check plan_credit.json
