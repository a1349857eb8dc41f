check plan_no_nop.json
