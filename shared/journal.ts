import { fstatSync } from 'node:fs'

/** Tells whether standard output is the journal of systemd: JOURNAL_STREAM of systemd.exec(5). */
export const writesToJournal = (
  env: NodeJS.ProcessEnv = process.env,
  { dev, ino }: { dev: number; ino: number } = fstatSync(1),
): boolean => env.JOURNAL_STREAM === `${dev}:${ino}`

/** Priorities of syslog (sd-daemon(3)) for the levels of pino. */
const PRIORITIES: Record<string, number> = {
  fatal: 2,
  error: 3,
  warn: 4,
  info: 6,
  debug: 7,
  trace: 7,
}

/**
 * Puts the priority of syslog in front of a log line, so that `journalctl --priority` works; the
 * journal takes it off. A line that does not begin with its level stays as it is.
 */
export const addPriority = (line: string): string => {
  const [, level = ''] = /^\{"level":"(\w+)"/.exec(line) ?? []
  const priority = PRIORITIES[level]
  return priority === undefined ? line : `<${priority}>${line}`
}
