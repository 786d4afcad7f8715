import { planHash } from './plan-hash.ts'

const BEGINNING = 'shoal:'

/**
 * Subject of shoal's own requests. Requests made by hand cannot have one, so that a
 * requester's text is never mistaken for the description of an operation that an approval permits.
 */
export const ownSubject = (plan: unknown, subject: string = planHash(plan)): string =>
  `${BEGINNING}${subject}`

export const isOwnSubject = (subject: string): boolean => subject.startsWith(BEGINNING)
