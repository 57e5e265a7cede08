import type { Db } from 'mongodb';

/** A database whose operations fail after some, as those of a process that was killed. */
export function dyingAfter(database: Db, operations: number): Db {
  let left = operations;
  const counting = <Target extends object>(target: Target): Target =>
    new Proxy(target, {
      get(own, name) {
        const value: unknown = Reflect.get(own, name, own);
        if (typeof value !== 'function') return value;
        if (name === 'collection') return (...of: unknown[]) => counting(value.apply(own, of));
        return (...of: unknown[]) => {
          if (left === 0) throw new Error('killed');
          left -= 1;
          return value.apply(own, of);
        };
      },
    });
  return counting(database);
}
