import { MongoServerError } from 'mongodb';

/** MongoDB's code of what it does not let a user do, also where there is no user. */
const unauthorized = 13;

/** What to do when MongoDB refuses a command to this user, or to nobody; undefined of an error of another kind. */
export function missingRights(error: unknown): string | undefined {
  if (!(error instanceof MongoServerError) || error.code !== unauthorized) return undefined;
  return /requires authentication/i.test(error.message)
    ? 'MongoDB asks for a user and a password: put them into MONGODB_URL, as mongodb://user:password@host:port/database'
    : 'MongoDB does not let the user in MONGODB_URL work on its database: give it the role readWrite there';
}
