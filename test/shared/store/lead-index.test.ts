import { expect } from 'chai';
import { callsCollection, leadIndex } from '../../../shared/store/calls/prediction-segment.js';
import { PredictionStore } from '../../../shared/store/calls/predictions.js';
import { connectMongo, type Mongo } from '../../../shared/store/connection/connect.js';
import { freshDatabases } from '../../support/service/servers.js';

describe('PredictionStore.prepare', () => {
  let mongo: Mongo;

  beforeEach(async () => {
    mongo = await connectMongo((await freshDatabases()).mongoUrl, { name: 'test' });
  });
  afterEach(() => mongo.client.close());

  /** Storage options of the index of leads; undefined for the defaults. */
  async function storageOfIndex(): Promise<unknown> {
    const indexes = await mongo.database.collection(callsCollection).indexes();
    const found = indexes.find(({ key }) => JSON.stringify(key) === JSON.stringify(leadIndex));
    expect(found, 'the index of leads').to.be.an('object');
    return found?.storageEngine;
  }

  it('creates the index of leads with small pages', async () => {
    await new PredictionStore(mongo.database).prepare();
    await new PredictionStore(mongo.database).prepare();
    expect(await storageOfIndex()).to.deep.equal({ wiredTiger: { configString: 'leaf_page_max=4KB' } });
  });

  it('keeps an existing index of leads with pages of the default size', async () => {
    await mongo.database.collection(callsCollection).createIndex(leadIndex);
    await new PredictionStore(mongo.database).prepare();
    expect(await storageOfIndex()).to.equal(undefined);
  });
});
