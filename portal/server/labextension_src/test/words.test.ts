import assert from 'node:assert/strict';
import { test } from 'node:test';

import { hasWords } from '../src/base/words';

const CARD = 'Several nodes\nDigits with Horovod';

void test('a search finds words in any order and case', () => {
  assert.ok(hasWords(CARD, 'horovod NODES'));
  assert.ok(hasWords(CARD, ' dig '));
});

void test('a search needs all of its words', () => {
  assert.ok(!hasWords(CARD, 'horovod pytorch'));
});

void test('an empty search finds everything', () => {
  assert.ok(hasWords(CARD, ''));
  assert.ok(hasWords(CARD, '  '));
});
