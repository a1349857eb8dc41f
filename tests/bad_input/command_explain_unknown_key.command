explain hbm.bandwith
