print('LIMIT = 3')
