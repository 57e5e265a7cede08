import { userInfo } from 'node:os';

/**
 * Who runs the command.
 * @param account of the system; throws where the user has none, as in a container that is run with `--user`
 * @returns the name of the account, else the number of the user
 */
export function operatorName(account: () => { readonly username: string } = userInfo): string {
  try {
    return account().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
