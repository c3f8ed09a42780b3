import assert from 'node:assert/strict';
import { test } from 'node:test';

import { isAway } from '../src/base/away';
import { isSameDocument } from '../src/files/samedocument';

const answer = (status: number, type = 'text/html') => ({
  status,
  headers: { get: () => type }
});

void test('an answer of the proxy or the hub in the place of the session is told', () => {
  for (const status of [403, 404, 424, 502, 503, 504]) {
    assert.ok(isAway(answer(status)), String(status));
  }
});

void test('what the session itself refuses is shown', () => {
  for (const status of [403, 404, 409, 500, 507]) {
    assert.ok(!isAway(answer(status, 'application/json')), String(status));
  }
});

const cell = (source: string | string[], metadata = {}) => ({
  cell_type: 'code',
  source,
  metadata,
  outputs: [{ output_type: 'display_data', data: { 'text/plain': ['1\n', '2'] } }]
});

void test('a notebook that has arrived is known again', () => {
  const sent = { nbformat: 4, cells: [cell(['a\n', 'b'])], metadata: { tags: ['x', 'y'] } };
  const found = {
    metadata: { tags: ['x', 'y'] },
    cells: [cell('a\nb', { trusted: true })],
    nbformat: 4
  };

  assert.ok(isSameDocument(sent, found));
});

void test('what somebody else has changed is another document', () => {
  assert.ok(!isSameDocument({ cells: [cell('a')] }, { cells: [cell('b')] }));
  assert.ok(!isSameDocument({ cells: [cell('a')] }, { cells: [cell('a'), cell('a')] }));
  assert.ok(!isSameDocument({ metadata: { tags: ['xy'] } }, { metadata: { tags: ['x', 'y'] } }));
  assert.ok(!isSameDocument('one', 'two'));
});
