import { InvalidArgumentError, Option } from 'commander'

/** A flag that takes one of these values. */
export const choice = (flags: string, values: readonly string[]): Option =>
  new Option(flags).choices(values)

/** The value of a flag that counts something. */
export const parseCount = (text: string): number => {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('must be an integer, 1 or more')
  return Number(text)
}
