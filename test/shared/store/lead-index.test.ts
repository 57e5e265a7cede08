import { expect } from 'chai';
import { callsCollection } from '../../../shared/store/calls-collection.js';
import { connectMongo, type Mongo } from '../../../shared/store/connect.js';
import { leadIndex, PredictionStore } from '../../../shared/store/predictions.js';
import { freshDatabases } from '../../support/servers.js';

describe('the index of leads', () => {
  let mongo: Mongo;

  beforeEach(async () => {
    mongo = await connectMongo((await freshDatabases()).mongoUrl, { name: 'test' });
  });
  afterEach(() => mongo.client.close());

  /** How the index is stored; undefined where that is as usual. */
  async function storageOfIndex(): Promise<unknown> {
    const indexes = await mongo.database.collection(callsCollection).indexes();
    const found = indexes.find(({ key }) => JSON.stringify(key) === JSON.stringify(leadIndex));
    expect(found, 'the index').to.be.an('object');
    return found?.storageEngine;
  }

  it('has small pages', async () => {
    await new PredictionStore(mongo.database).prepare();
    await new PredictionStore(mongo.database).prepare();
    expect(await storageOfIndex()).to.deep.equal({ wiredTiger: { configString: 'leaf_page_max=4KB' } });
  });

  it('stays as it is where there is one with pages of the usual size', async () => {
    await mongo.database.collection(callsCollection).createIndex(leadIndex);
    await new PredictionStore(mongo.database).prepare();
    expect(await storageOfIndex()).to.equal(undefined);
  });
});
