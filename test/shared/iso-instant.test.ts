import { expect } from 'chai';
import { isoInstant } from '../../shared/iso-instant.js';

describe('isoInstant', () => {
  const read: readonly [text: string, iso: string][] = [
    ['2026-03-01', '2026-03-01T00:00:00.000Z'],
    ['2026-03-01T12:30', '2026-03-01T12:30:00.000Z'],
    ['2026-03-01 12:30:05', '2026-03-01T12:30:05.000Z'],
    ['2026-03-01T12:30:05.5Z', '2026-03-01T12:30:05.500Z'],
    ['2026-03-01T12:30:05.123456789z', '2026-03-01T12:30:05.123Z'],
    ['2026-03-01T12:30:05+02:00', '2026-03-01T10:30:05.000Z'],
    ['2026-03-01T12:30:05-0530', '2026-03-01T18:00:05.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
  ];
  for (const [text, iso] of read)
    it(`reads ${text}`, () => expect(isoInstant(text)?.toISOString()).to.equal(iso));

  const refused = [
    '',
    'yesterday',
    '1767000000',
    '2026-02-29',
    '2026-04-31T10:00:00Z',
    '2026-13-01',
    '01/02/2026',
  ];
  for (const text of [
    ...refused,
    '1969-12-31',
    '2101-01-01',
    '2026-03-01T25:00:00Z',
    '2026-03-01T12:00+25:00',
  ])
    it(`refuses "${text}"`, () => expect(isoInstant(text)).to.equal(undefined));
});
