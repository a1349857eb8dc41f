check ../data
