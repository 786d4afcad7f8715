import { planHash } from './plan-hash.ts'

const BEGINNING = 'shoal:'

/**
 * The subject of what shoal asks by itself. Requests that are made by hand cannot have one, so that
 * nobody's own words are taken for those of the operation that an approval lets through.
 */
export const ownSubject = (plan: unknown, subject: string = planHash(plan)): string =>
  `${BEGINNING}${subject}`

export const isOwnSubject = (subject: string): boolean => subject.startsWith(BEGINNING)
