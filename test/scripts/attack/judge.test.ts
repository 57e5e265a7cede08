import { expect } from 'chai';
import { type AttackRow, judge } from '../../../scripts/attack/judge.js';

const harmless: AttackRow = {
  attack: 'marks',
  does: 'sends marks',
  victim_calls: 80,
  victim_p50_ms: 10,
  victim_p99_ms: 250,
  quiet_p99_ms: 40,
  victim_failures: [],
  loop_delay_ms: 9_000,
  healthz_ms: 250,
  dead_workers: 0,
  counted: { live: 0, test: 0 },
  redis_bytes: { before: 0, after: 64 * 1024 },
  mongo_bytes: { before: 0, after: 2 * 1024 * 1024 },
  gateway_bytes: { before: 0, after: 1e9 },
  answers: { 200: 3 },
  unexpected: {},
  failure: undefined,
  others_share: 0.14,
};
const promises = (changes: Partial<AttackRow>): string[] =>
  judge({ ...harmless, ...changes }).problems.map(({ promise }) => promise);

describe('the judge of npm run attack', () => {
  it('finds no problem at the limits', () => {
    expect(judge(harmless)).to.deep.equal({ problems: [], notJudged: [] });
  });

  it('finds each broken promise', () => {
    expect(promises({ victim_failures: ['500', '500', 'no answer'] })).to.deep.equal(['victim', 'victim']);
    expect(promises({ dead_workers: 1 })).to.deep.equal(['workers']);
    expect(promises({ victim_p99_ms: 251 })).to.deep.equal(['p99']);
    expect(promises({ healthz_ms: 251 })).to.deep.equal(['healthz']);
    expect(promises({ answers: { 'no answer': 1 }, unexpected: { 'no answer': '' } })).to.deep.equal(['answers']);
    expect(promises({ unexpected: { '500 overloaded': '' } })).to.deep.equal([]);
    expect(promises({ failure: 'a mistake in the attack' })).to.deep.equal(['answers']);
    expect(promises({ redis_bytes: { before: 0, after: 64 * 1024 + 1 } })).to.deep.equal(['redis']);
    expect(promises({ mongo_bytes: { before: 0, after: 40 * 1024 * 1024 + 1 } })).to.deep.equal(['mongodb']);
  });

  it('lets p99 be three times the quiet one', () => {
    expect(promises({ quiet_p99_ms: 100, victim_p99_ms: 300 })).to.deep.equal([]);
    expect(promises({ quiet_p99_ms: 100, victim_p99_ms: 301 })).to.deep.equal(['p99']);
  });

  it('lets counted records grow the databases, but those of test keys not Redis', () => {
    const grown = { redis_bytes: { before: 0, after: 200_000 }, mongo_bytes: { before: 0, after: 1e8 } };
    expect(promises({ ...grown, counted: { live: 100, test: 0 } })).to.deep.equal([]);
    expect(promises({ ...grown, counted: { live: 0, test: 100 } })).to.deep.equal(['redis']);
  });

  it('does not judge times while other work uses the machine', () => {
    const { problems, notJudged } = judge({ ...harmless, others_share: 0.15, healthz_ms: 999, dead_workers: 1 });
    expect(problems.map(({ promise }) => promise)).to.deep.equal(['workers']);
    expect(notJudged.map(({ promise }) => promise)).to.deep.equal(['healthz']);
  });
});
