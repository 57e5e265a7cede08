import { expect } from 'chai';
import { momentOf } from '../../../shared/bundle/manifest/moment.js';

describe('momentOf', () => {
  it('reads a date alone as the whole UTC day', () => {
    expect(momentOf('2026-11-20')).to.deep.equal({
      firstMs: Date.parse('2026-11-20T00:00:00.000Z'),
      lastMs: Date.parse('2026-11-20T23:59:59.999Z'),
    });
  });

  for (const [text, instant] of [
    ['2026-11-20T10:00', '2026-11-20T10:00:00.000Z'],
    ['2026-11-20 10:00:30', '2026-11-20T10:00:30.000Z'],
    ['2026-11-20T10:00:30,25Z', '2026-11-20T10:00:30.250Z'],
    ['2026-11-20T10:00:30.123456+00:00', '2026-11-20T10:00:30.123Z'],
    ['2026-11-20T01:00-05', '2026-11-20T06:00:00.000Z'],
    ['2026-11-20T01:00+0530', '2026-11-19T19:30:00.000Z'],
  ] as const)
    it(`reads ${text} as one instant`, () => {
      const atMs = Date.parse(instant);
      expect(momentOf(text)).to.deep.equal({ firstMs: atMs, lastMs: atMs });
    });

  for (const text of ['', '2026-11', '20.11.2026', '2026-02-30', '2026-13-01', '2026-11-20T25:00', '2026-11-20Z'])
    it(`finds no date in "${text}"`, () => {
      expect(momentOf(text)).to.equal(undefined);
    });
});
