import type { SeededRandom } from './seeded-random.js';

/**
 * An invented company name: some carry a comma, quotes or letters beyond ASCII, as real tables do.
 * Takes draws from `random`.
 */
export function companyName(random: SeededRandom): string {
  const first = random.pick(COMPANY_STEMS);
  const second = random.pick(COMPANY_TRADES);
  const name = random.chance(0.02) ? `"${first}" ${second}` : `${first} ${second}`;
  return random.chance(0.55) ? `${name}${random.pick(LEGAL_FORMS)}` : name;
}

/** An invented person's first and last name. Takes draws from `random`. */
export function contactName(random: SeededRandom): string {
  return `${random.pick(FIRST_NAMES)} ${random.pick(LAST_NAMES)}`;
}

const COMPANY_STEMS = [
  'Norvale',
  'Brightwater',
  'Kestrel',
  'Oakhaven',
  'Lumenar',
  'Tarnwick',
  'Åkerlund',
  'Solvane',
  'Pinemark',
  'Quillon',
  'Vastera',
  'Hollin',
  'Meridale',
  'Grünfeld',
  'Corvane',
  'Ostrava',
  'Belcourt',
  'Fenwright',
];
const COMPANY_TRADES = [
  'Analytics',
  'Logistics',
  'Systems',
  'Foods',
  'Health',
  'Partners',
  'Works',
  'Labs',
  'Capital',
  'Components',
  'Freight',
  'Media',
];
const LEGAL_FORMS = [', Inc.', ' GmbH', ' Ltd', ' LLC', ' AB', ' B.V.', ' SAS'];
const FIRST_NAMES = [
  'Ada',
  'Jonas',
  'Priya',
  'Mateo',
  'Ingrid',
  'Samir',
  'Chloé',
  'Tom',
  'Wanda',
  'Felix',
  'Noor',
  'Elif',
  'Grace',
  'Lukas',
  'Inès',
  'Oscar',
];
const LAST_NAMES = [
  'Lindqvist',
  'Marsh',
  'Okafor',
  'Petrov',
  'Haddad',
  "O'Neill",
  'Sato',
  'Weber',
  'Duarte',
  'Novák',
  'Rossi',
  'Bell',
  'Kaur',
  'Moreau',
  'Jansen',
  'Reyes',
];
