check no_such_trace.csv
