check wg_gzip.wgtrace.csv.gz
