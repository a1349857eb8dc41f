run ../data/tiny_trace.csv
