import { expect } from 'chai';
import { callIdFloor, callIdGenerator } from '../../../shared/contract/identifiers.js';

describe('callIdGenerator', () => {
  const startMs = Date.UTC(2026, 1, 10);

  it('makes ascending ids, also while the clock stops or steps back', () => {
    const newCallId = callIdGenerator();
    const instants = Array.from({ length: 3_000 }, (_, index) => startMs + (index % 7 === 0 ? -50 : index >> 1));
    const ids = instants.map(newCallId);
    expect([...ids].sort()).to.deep.equal(ids);
    expect(new Set(ids).size).to.equal(ids.length);
  });

  it('makes different ids in different generators within the same milliseconds', () => {
    const gateways = Array.from({ length: 4 }, () => callIdGenerator());
    const ids = gateways.flatMap((newCallId) =>
      Array.from({ length: 1_000 }, (_, index) => newCallId(startMs + index)),
    );
    expect(new Set(ids.map((id) => id.slice(-16))).size).to.equal(ids.length);
  });

  it('makes ids between callIdFloor of their instant and of the next', () => {
    const newCallId = callIdGenerator();
    for (let atMs = startMs; atMs < startMs + 1_000; atMs += 1) {
      const id = newCallId(atMs);
      expect(id).to.have.lengthOf(26);
      expect(id > callIdFloor(atMs) && id < callIdFloor(atMs + 1)).to.equal(true);
    }
  });
});
