import assert from 'node:assert/strict';
import { test } from 'node:test';

import { changedOf, parametersOf } from '../src/notebook_jobs/parameters';

const cellOf = (source: string | string[], tags = ['parameters']) => ({
  cell_type: 'code',
  source,
  metadata: { tags }
});

void test('a form has the names and values of the cell with the tag', () => {
  const source = [
    '# the net\n',
    'lr = 0.1  # how fast\n',
    'epochs: int = 3\n',
    "name = 'a # b'\n",
    'learning.rate <- 1e-3\n',
    'if lr == 1:\n',
    '    depth = 2'
  ];

  assert.deepEqual(parametersOf([cellOf('x = 1', []), cellOf(source)]), [
    ['lr', '0.1'],
    ['epochs', '3'],
    ['name', "'a # b'"],
    ['learning.rate', '1e-3']
  ]);
});

void test('a notebook without such a cell has no parameters', () => {
  assert.deepEqual(parametersOf([cellOf('x = 1', []), { cell_type: 'code', source: 'y = 2' }]), []);
});

void test('only what was changed is sent', () => {
  const before = [
    ['lr', '0.1'],
    ['epochs', '3']
  ] as const;

  assert.deepEqual(
    changedOf(before, [
      ['lr', '0.1'],
      ['epochs', '5'],
      ['depth', '2']
    ]),
    { epochs: '5', depth: '2' }
  );
});
