import { expect } from 'chai';
import { eraseRestored } from '../../../../scripts/cli/restore/erase-restored.js';
import { dayMs, monthOf } from '../../../../shared/contract/dates.js';
import { callIdGenerator } from '../../../../shared/contract/identifiers.js';
import { ErasureStore, leadHash } from '../../../../shared/store/calls/erasures.js';
import { outcomeId, type StoredOutcome } from '../../../../shared/store/validation/outcomes.js';
import { documentsOfCall } from '../../../support/service/prediction-rows.js';
import { type OperatorDesk, operatorDesk } from '../operator-desk.js';

const [short, long] = ['001A0000006Vm9u', '001A0000006Vm9uIAC'] as const;

describe("a restore, and the two forms of Salesforce's ids", () => {
  let desk: OperatorDesk;

  before(async () => {
    desk = await operatorDesk();
  });
  after(() => desk.leave());

  for (const erased of [short, long])
    for (const stored of [short, long])
      it(`erases what is stored under ${stored} when ${erased} was erased`, async () => {
        const { calls, database } = desk.stores;
        const organisationId = await desk.newOrganisation();
        const nowMs = Date.now();
        const at = new Date(nowMs - dayMs);
        const call = { org: organisationId, bucket: 'live', month: monthOf(at.getTime()), records: 1, at } as const;
        await calls.insertMany(
          documentsOfCall({ ...call, _id: callIdGenerator()(at.getTime(), organisationId) }, [stored]),
        );
        await database.collection<StoredOutcome>('outcomes').insertOne({
          ...{ _id: outcomeId(organisationId, stored), org: organisationId, crm_id: stored },
          ...{ converted: true, at, received_at: at, changed_at: at },
        });
        const hash = leadHash({ organisationId, crmId: erased }, desk.pepper);
        await new ErasureStore(database).remember([{ _id: hash, org: organisationId, erased_at: new Date(nowMs) }]);
        expect(await eraseRestored(database, { keyPepper: desk.pepper, onProgress: () => undefined })).to.equal(1);
        expect(await calls.countDocuments({ org: organisationId, crm_ids: { $in: [short, long] } })).to.equal(0);
        expect(await database.collection('outcomes').countDocuments({ org: organisationId })).to.equal(0);
      });
});
