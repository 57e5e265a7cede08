import { expect } from 'chai';
import {
  callIdFloor,
  callIdGenerator,
  callIdPrefix,
  newId,
  prefixOfCallId,
} from '../../../shared/contract/identifiers.js';

describe('callIdGenerator', () => {
  const startMs = Date.UTC(2026, 1, 10);
  const org = newId('org');

  it('makes ids that begin with their organisation, whatever the form of its id', () => {
    const newCallId = callIdGenerator();
    for (const organisationId of [org, newId('org'), 'org', 'org_a', 'another form of id']) {
      const id = newCallId(startMs, organisationId);
      expect(prefixOfCallId(id)).to.equal(callIdPrefix(organisationId));
      expect(id).to.have.lengthOf(26);
    }
    expect(callIdPrefix(org)).to.equal(org.slice(4, 10));
  });

  it('makes ascending ids, also while the clock stops or steps back', () => {
    const newCallId = callIdGenerator();
    const instants = Array.from({ length: 3_000 }, (_, index) => startMs + (index % 7 === 0 ? -50 : index >> 1));
    const ids = instants.map((atMs) => newCallId(atMs, org));
    expect([...ids].sort()).to.deep.equal(ids);
    expect(new Set(ids).size).to.equal(ids.length);
  });

  it('makes different ids in different generators within the same milliseconds', () => {
    const gateways = Array.from({ length: 4 }, () => callIdGenerator());
    const ids = gateways.flatMap((newCallId) =>
      Array.from({ length: 1_000 }, (_, index) => newCallId(startMs + index, org)),
    );
    expect(new Set(ids.map((id) => id.slice(-11))).size).to.equal(ids.length);
  });

  it('makes ids between callIdFloor of their instant and of the next', () => {
    const newCallId = callIdGenerator();
    for (let atMs = startMs; atMs < startMs + 1_000; atMs += 1) {
      const id = newCallId(atMs, org);
      expect(id).to.have.lengthOf(26);
      expect(id > callIdFloor(atMs, org) && id < callIdFloor(atMs + 1, org)).to.equal(true);
    }
  });
});
