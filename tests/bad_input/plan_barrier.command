check plan_barrier.json
