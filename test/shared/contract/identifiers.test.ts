import { expect } from 'chai';
import { callIdFloor, callIdGenerator } from '../../../shared/contract/identifiers.js';

describe('call ids', () => {
  const startMs = Date.UTC(2026, 1, 10);

  it('ascend in the order in which they are made, also while the clock stands still or steps back', () => {
    const newCallId = callIdGenerator();
    const instants = Array.from(
      { length: 3_000 },
      (_, index) => startMs + (index % 7 === 0 ? -50 : index >> 1),
    );
    const ids = instants.map(newCallId);
    expect([...ids].sort()).to.deep.equal(ids);
    expect(new Set(ids).size).to.equal(ids.length);
  });

  it('of several gateways differ, millisecond by millisecond', () => {
    const gateways = Array.from({ length: 4 }, () => callIdGenerator());
    const ids = gateways.flatMap((newCallId) =>
      Array.from({ length: 1_000 }, (_, index) => newCallId(startMs + index)),
    );
    expect(new Set(ids.map((id) => id.slice(-16))).size).to.equal(ids.length);
  });

  it('lie between the floor of their instant and that of the next', () => {
    const newCallId = callIdGenerator();
    for (let atMs = startMs; atMs < startMs + 1_000; atMs += 1) {
      const id = newCallId(atMs);
      expect(id).to.have.lengthOf(26);
      expect(id > callIdFloor(atMs) && id < callIdFloor(atMs + 1)).to.equal(true);
    }
  });
});
