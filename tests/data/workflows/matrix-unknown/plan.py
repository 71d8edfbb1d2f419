print('cells={}')
