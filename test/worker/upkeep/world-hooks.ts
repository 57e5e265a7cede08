import { Redis } from 'ioredis';
import { connectMongo, type Mongo } from '../../../shared/store/connection/connect.js';
import { prepareDatabase } from '../../../shared/store/connection/prepare-database.js';
import { freshDatabases } from '../../support/service/servers.js';
import { newIds } from '../grading/grade-at.js';
import { RecordedWorld, type WorldIds } from '../grading/recorded-world.js';

/** Empty databases, and a model whose calls and outcomes a test records. */
export interface FreshWorld {
  readonly mongo: Mongo;
  readonly redis: Redis;
  readonly ids: WorldIds;
  readonly world: RecordedWorld;
}

/**
 * Hooks of a suite: makes a world for each test, and closes its connections afterwards.
 * @param set gets the world of the next test
 */
export function worldForEachTest(set: (fresh: FreshWorld) => void): void {
  let close: () => Promise<void>;
  beforeEach(async () => {
    const { mongoUrl, redisUrl } = await freshDatabases();
    const mongo = await connectMongo(mongoUrl, { name: 'test' });
    const redis = new Redis(redisUrl);
    close = async () => {
      redis.disconnect();
      await mongo.client.close();
    };
    await prepareDatabase(mongo.database);
    const ids = newIds();
    set({ mongo, redis, ids, world: new RecordedWorld(mongo.database, ids) });
  });
  afterEach(() => close());
}
