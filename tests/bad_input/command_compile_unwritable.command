compile all_reduce_ring --out /no/such/folder/x.xml
