import { ShoalError } from '../../shared/errors.ts'

/** Flags of a command, apart from those of the configuration. */
interface Flags<V extends string, S extends string> {
  values: Partial<Record<V, string>>
  switches: Record<S, boolean>
  /** Positional arguments. */
  words: string[]
  /** The flags that are left, for the configuration. */
  rest: string[]
}

/**
 * Takes the named flags out of the arguments: `--token T`, `--token=T`, `--yes`. Every other flag
 * has a value, as all of the configuration's have.
 */
export const takeFlags = <V extends string, S extends string>(
  argv: readonly string[],
  valued: readonly V[],
  switched: readonly S[],
): Flags<V, S> => {
  const flags: Flags<V, S> = {
    values: {},
    switches: Object.fromEntries(switched.map(name => [name, false])) as Record<S, boolean>,
    words: [],
    rest: [],
  }
  const queue = [...argv]
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const [, name = '', glued] = /^--([\w-]+)(?:=(.*))?$/s.exec(next) ?? []
    if (!next.startsWith('--')) flags.words.push(next)
    else if (isIn(switched, name)) flags.switches[name] = true
    else {
      const value = glued ?? queue.shift()
      if (value === undefined) throw new ShoalError('wrong_usage', `${next} needs a value`)
      if (isIn(valued, name)) flags.values[name] = value
      else flags.rest.push(`--${name}`, value)
    }
  }
  return flags
}

/** Rejects positional arguments, for commands that take none. */
export const requireNoWords = (
  { words }: Pick<Flags<never, never>, 'words'>,
  usage: string,
): void => {
  if (words.length > 0)
    throw new ShoalError(
      'wrong_usage',
      `${JSON.stringify(words[0])} is an unexpected argument; ${usage}`,
    )
}

const isIn = <T extends string>(list: readonly T[], name: string): name is T =>
  (list as readonly string[]).includes(name)
