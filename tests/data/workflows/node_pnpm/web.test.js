require('node:test')('x', () => { throw new Error('x'); });
