import assert from 'node:assert/strict';
import { test } from 'node:test';

import { count, formatCountdown, formatDuration } from '../src/base/format';

void test('one thing has no plural', () => {
  assert.equal(count(1, 'core'), '1 core');
  assert.equal(count(2, 'core'), '2 cores');
  assert.equal(count(0, 'core'), '0 cores');
});

void test('a duration has only the units that say something', () => {
  assert.equal(formatDuration(20), '20 seconds');
  assert.equal(formatDuration(60), '1 minute');
  assert.equal(formatDuration(1_800), '30 minutes');
  assert.equal(formatDuration(3_599.6), '1 hour');
  assert.equal(formatDuration(5_400), '1 hour 30 minutes');
  assert.equal(formatDuration(7_200), '2 hours');
});

void test('a countdown shows seconds only near its end', () => {
  assert.equal(formatCountdown(28_799), '7 h 59 min');
  assert.equal(formatCountdown(3_600), '1 h');
  assert.equal(formatCountdown(300), '5 min');
  assert.equal(formatCountdown(299.9), '4:59 min');
  assert.equal(formatCountdown(5), '0:05 min');
});
