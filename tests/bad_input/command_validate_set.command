validate ../validate/tiny.yaml --set 'groups.7.metric=x' --set nothing
