run ../data
