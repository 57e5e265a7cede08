import { expect } from 'chai';
import { attacks } from '../../../scripts/attack/attacks/table.js';
import type { Attack } from '../../../scripts/attack/caller/attack.js';
import { judge, timedPromises } from '../../../scripts/attack/judge.js';
import { AttackRun, type AttackTimes } from '../../../scripts/attack/run-attacks.js';
import type { Undo } from '../../../scripts/servers/run-to-end.js';
import { startTimeoutMs } from '../service/service.js';

/** Limit of one attack on a busy machine, with the recovery of a victim that it harmed. */
const attackTimeoutMs = 150_000;
/** A gateway that is held up for longer is harmed on any machine. */
const maxHealthzMs = 5_000;

/**
 * The attacks of `npm test`: of each file of `scripts/attack/attacks` one. `npm run test:full` runs the others as well.
 */
export const representatives = [
  ...['marks', 'short-wide-names', 'most-values', 'occluded-batches'],
  ...['erasure-of-long-history', 'too-many-calls', 'job-floods', 'slow-bodies'],
];
const isRepresentative = ({ name }: Attack): boolean => representatives.includes(name);

/** Attacks by the command that tests them. */
export const testedAttacks = {
  test: attacks.filter(isRepresentative),
  full: attacks.filter((attack) => !isRepresentative(attack)),
} as const;

/** Declares a test for each of some attacks of `npm run attack`. All of them share a service and a victim. */
export function attackTest(tested: readonly Attack[], times: AttackTimes): void {
  describe(`the attack run with ${tested.length} of its attacks, ${times.seconds} s each`, () => {
    const undos: Undo[] = [];
    let run: AttackRun;

    before(async function () {
      this.timeout(startTimeoutMs);
      run = await AttackRun.start(times, (undo) => undos.push(undo));
    });
    after(async function () {
      this.timeout(startTimeoutMs);
      for (const undo of undos.splice(0).reverse()) await undo();
    });

    for (const attack of tested) {
      it(`keeps victim, workers and Redis unharmed when a caller ${attack.does} (${attack.name})`, async function () {
        this.timeout(attackTimeoutMs + 1_000 * times.seconds);
        const row = await run.attack(attack);
        // Times depend on the machine: `npm run attack` judges them.
        expect(judge(row).problems.filter(({ promise }) => !timedPromises.has(promise))).to.deep.equal([]);
        expect(row.healthz_ms, 'ms until /healthz answered').to.be.below(maxHealthzMs);
      });
    }

    it('leaves no late failure of the victim and no late death of a worker', async function () {
      this.timeout(attackTimeoutMs);
      expect(await run.lateProblems()).to.deep.equal([]);
    });
  });
}
