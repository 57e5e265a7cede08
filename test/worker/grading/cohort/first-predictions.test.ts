import { expect } from 'chai';
import fc from 'fast-check';
import { dayMs } from '../../../../shared/contract/dates.js';
import { newId } from '../../../../shared/contract/identifiers.js';
import {
  compareCrmIds,
  firstPredictionsOf,
  isInRange,
  leadPasses,
} from '../../../../worker/grading/cohort/first-predictions.js';
import type { GradedVersion, Snapshot } from '../../../../worker/grading/cohort/snapshot.js';
import { gradesIn, gradingDatabase, newIds } from '../grade-at.js';
import { expectTruth, figures } from '../grade-truth.js';
import { RecordedWorld, type WorldIds } from '../recorded-world.js';

const startMs = Date.UTC(2026, 0, 10);
const horizonDays = 20;
const asOfMs = startMs + 60 * dayMs;
/** Ids that JavaScript and MongoDB sort differently. */
const oddNames = ['\uffff', '😀', '\ue000', 'a', 'é', '$a', '.', 'A', '\u{10ffff}'];

describe('leadPasses and firstPredictionsOf', () => {
  const mongo = gradingDatabase();
  const gradeAt = gradesIn(mongo, horizonDays);
  const grade = (ids: WorldIds, maxLeadsPerPass: number) => gradeAt(ids, asOfMs, { rebuild: true, maxLeadsPerPass });

  const inSnapshot = async <Result>(read: (snapshot: Snapshot) => Promise<Result>): Promise<Result> => {
    const session = mongo.client.startSession({ snapshot: true });
    try {
      return await read({ database: mongo.database, session });
    } finally {
      await session.endSession();
    }
  };

  /** Records calls of up to 260 rows, with repeats within and between calls, and outcomes of most leads. */
  const recordCalls = async (world: RecordedWorld, names: readonly string[]): Promise<void> => {
    for (let day = 0; day < 50; day += 10) {
      const rows = Array.from({ length: 260 - 5 * day }, (_, row) => ({
        crmId: row % 17 === 3 ? undefined : names[(row * (day + 7)) % names.length],
        score: (row * 13 + day) % 101,
      }));
      await world.call(startMs + day * dayMs, rows);
    }
    const outcomes = names.flatMap((crmId, index) =>
      index % 5 === 0 ? [] : [{ crmId, converted: index % 3 === 0, at: new Date(startMs + (index % 40) * dayMs) }],
    );
    await world.outcomes(outcomes, startMs + 45 * dayMs);
  };

  it('returns the same figures for any number of passes, with any characters in crm_ids', async function () {
    this.timeout(60_000);
    const ids = newIds();
    const world = new RecordedWorld(mongo.database, ids);
    const names = [...oddNames, ...oddNames.flatMap((name) => oddNames.map((other) => name + other))];
    await recordCalls(world, names);
    await world.erase(names[12] ?? '');
    await world.erase(names[40] ?? '');
    for (const maxLeadsPerPass of [1, 2, 7, 50, 1_000])
      expectTruth(await grade(ids, maxLeadsPerPass), world, { asOfMs, horizonDays });
  });

  it('counts a stored lead that was scored again as a repeat, also before its first call under the version', async () => {
    const ids = newIds();
    const world = new RecordedWorld(mongo.database, ids);
    const leads = (names: readonly string[], score: number) => names.map((crmId) => ({ crmId, score }));
    await world.call(startMs, leads(['A', 'B', 'C'], 10), 'stored');
    await world.call(startMs + dayMs, leads(['B', 'C'], 90));
    await world.call(startMs + 2 * dayMs, leads(['A', 'C', 'D'], 30), 'stored');
    await world.outcomes([{ crmId: 'B', converted: true, at: new Date(startMs + 3 * dayMs) }], startMs + 40 * dayMs);
    await world.erase('C');
    for (const maxLeads of [1, 100]) expectTruth(await grade(ids, maxLeads), world, { asOfMs, horizonDays });
    const graded = await gradeAt(ids, asOfMs, { rebuild: false });
    expectTruth(graded, world, { asOfMs, horizonDays });
    expect(figures(graded, 'cohort_reconciles')).to.include({ cohort: 1, repeats: 4, erased: 3 });
  });

  it('holds at most maxLeads leads per pass and returns each lead once', async () => {
    const ids = newIds();
    const world = new RecordedWorld(mongo.database, ids);
    const names = Array.from({ length: 230 }, (_, index) => `lead ${index}`);
    await world.call(
      startMs,
      [...names, ...names].map((crmId) => ({ crmId, score: 50 })),
    );
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 5, max: 300 }), async (maxLeads) => {
        const passes = await inSnapshot(async (snapshot) => {
          const found = [];
          for await (const { firsts, range } of leadPasses(snapshot, versionOf(ids), {
            maxLeads,
          }))
            found.push({ leads: [...firsts.keys()], range });
          return found;
        });
        for (const { leads } of passes) expect(leads.length).to.be.within(1, maxLeads);
        expect(passes.flatMap(({ leads }) => leads)).to.have.members(names);
        const froms = passes.map(({ range }) => range.from);
        expect(froms).to.deep.equal([...froms].sort(compareCrmIds));
        expect(passes.length).to.be.at.most(Math.ceil((3 * names.length) / maxLeads));
      }),
      { numRuns: 15 },
    );
  });

  it('returns the first prediction by the order of calls and of rows in a call', async () => {
    const ids = newIds();
    const world = new RecordedWorld(mongo.database, ids);
    const others = Array.from({ length: 120 }, (_, index) => ({ crmId: `x${index}`, score: 0 }));
    await world.call(startMs, [{ crmId: 'a', score: 90 }, { crmId: 'a', score: 10 }, ...others]);
    await world.call(startMs + 1, [...others, { crmId: 'b', score: 70 }, { crmId: 'a', score: 30 }]);
    await world.call(startMs + 2, [...others, { crmId: 'b', score: 50 }]);
    const expected = { a: { band: 4, likelihood: 4_500 }, b: { band: 3, likelihood: 3_500 } };
    const read = (leads: readonly string[]) =>
      inSnapshot((snapshot) => firstPredictionsOf(snapshot, versionOf(ids), new Set(leads)));
    const firsts = await read(['a', 'b', 'never scored']);
    expect([...firsts.keys()]).to.have.members(['a', 'b']);
    for (const [crmId, first] of Object.entries(expected)) expect(firsts.get(crmId)).to.include(first);
  });

  it('returns the same first predictions through the lead index and from a scan of all segments', async () => {
    const ids = newIds();
    const world = new RecordedWorld(mongo.database, ids);
    const names = Array.from({ length: 100 }, (_, index) => `lead ${index}`);
    const rows = Array.from({ length: 10 }, () => names.map((crmId) => ({ crmId, score: 50 }))).flat();
    for (let call = 0; call < 20; call += 1) await world.call(startMs + call, rows);
    for (const minIndexSegments of [0, 1_000]) {
      const leads = new Set(names.slice(0, 60));
      const firsts = await inSnapshot((snapshot) =>
        firstPredictionsOf(snapshot, versionOf(ids), leads, { minIndexSegments }),
      );
      expect(new Set(firsts.keys())).to.deep.equal(leads);
      for (const { at } of firsts.values()) expect(at.getTime()).to.equal(startMs);
    }
  });

  it('separates the leads of different versions, models and organisations', async () => {
    const ids = newIds();
    const others = [{ ...ids, version: '2' }, { ...ids, modelId: newId('mdl') }, newIds()];
    const names = Array.from({ length: 40 }, (_, index) => `lead ${index}`);
    const worlds = [];
    for (const [index, each] of [...others, ids].entries()) {
      const world = new RecordedWorld(mongo.database, each);
      await world.call(
        startMs + index * dayMs,
        names.slice(index).map((crmId, row) => ({ crmId, score: (20 * index + row) % 101 })),
      );
      worlds.push({ each, world });
    }
    for (const { each, world } of worlds) {
      const graded = await grade(each, 10);
      expectTruth(graded, world, { asOfMs, horizonDays });
      expect(figures(graded, 'cohort_reconciles')).to.include({ repeats: 0, stored_rows: world.rows.length });
    }
  });

  it('counts rows without crm_id and erased rows separately, also if a lead is in a call twice', async () => {
    const ids = newIds();
    const world = new RecordedWorld(mongo.database, ids);
    const rows = ['a', undefined, 'b', 'a', undefined, 'c'].map((crmId) => ({ crmId, score: 50 }));
    await world.call(startMs, rows);
    await world.call(startMs + dayMs, rows.slice(0, 3));
    await world.erase('a');
    const graded = await grade(ids, 1);
    expectTruth(graded, world, { asOfMs, horizonDays });
    const counts = { stored_rows: 9, erased: 3, without_crm_id: 3, cohort: 2, repeats: 1 };
    expect(figures(graded, 'cohort_reconciles')).to.include(counts);
  });
});

const versionOf = (ids: WorldIds): GradedVersion => ({ ...ids, horizonDays });

/** Characters of each UTF-8 length, below and above the surrogates. */
const character = fc.constantFrom('a', 'b', '0', 'é', '\ud7ff', '\ue000', '\uffff', '😀', '\u{10ffff}');
const crmId = fc.string({ unit: character, maxLength: 6 });

describe('compareCrmIds and isInRange', () => {
  it('orders crm_ids by their UTF-8 bytes, like MongoDB', () => {
    fc.assert(
      fc.property(crmId, crmId, (one, other) => {
        const bytes = Buffer.compare(Buffer.from(one), Buffer.from(other));
        expect(Math.sign(compareCrmIds(one, other))).to.equal(bytes);
      }),
      { numRuns: 1_000, examples: [['\uffff', '😀']] },
    );
  });

  it('assigns every crm_id to exactly one of two neighbouring ranges', () => {
    fc.assert(
      fc.property(crmId, crmId, (middle, one) => {
        const lower = isInRange(one, { from: '', until: middle });
        const upper = isInRange(one, { from: middle, until: undefined });
        expect(lower).to.equal(!upper);
        expect(upper).to.equal(compareCrmIds(one, middle) >= 0);
        expect(isInRange(one, { from: '', until: undefined })).to.equal(true);
      }),
    );
  });
});
