compile all_reduce_ring --set channels=33 --set chanels=2 --set protocol=LL --set instances=two
