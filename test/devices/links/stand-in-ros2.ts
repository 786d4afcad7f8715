import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

const BATTERY = 'voltage: 24.1\npercentage: 0.555\npresent: true'
const ODOMETRY = `pose:
  pose:
    position: {x: 1.5, y: -2.0, z: 0.0}
    orientation: {x: 0.0, y: 0.0, z: 0.0, w: 1.0}
  covariance: [0.0, 0.0]
twist:
  twist:
    linear: {x: 0.3, y: 0.4, z: 0.0}
    angular: {x: 0.0, y: 0.0, z: 0.0}`

/**
 * Program in place of \`ros2\`: it appends its arguments to a file, each with a NUL behind it, and
 * answers in the shape of the tool.
 */
const createScript = (folder: string): string => `#!/bin/sh
case "$2" in
  list) printf '/battery\\n/cmd_vel\\n/odom\\n/parameter_events\\n/rosout\\n'; exit 0 ;;
  echo)
    case "$4" in
      /battery) printf '%s\\n---\\n' '${BATTERY}' ; exit 0 ;;
      /odom) printf '%s\\n---\\n' '${ODOMETRY}' ; exit 0 ;;
    esac ;;
esac
if [ "$2 $3" = 'pub --once' ] && [ -e '${folder}/slow' ]; then
  : > '${folder}/begun'
  sleep 0.2
fi
printf '%s\\0' "$#" "$@" >> '${folder}/calls'
case "$2 $3" in
  'pub --rate') if [ -e '${folder}/hang' ]; then exec sleep 600; fi ;;
  'echo --once') printf 'data: hello\\n---\\n' ;;
esac
`

interface StandInRos2 {
  /** Path of the program. */
  command: string
  /** Arguments of the calls so far, oldest first; those that read states are left out. */
  listCalls(): string[][]
  /** Makes the next motions never end. */
  hang(): void
  /** Delays each single publication, before it is listed. */
  slowDown(): void
  /** True once a slowed publication has begun. */
  hasBegun(): boolean
  /** Forgets the calls. */
  clear(): void
}

export const createStandInRos2 = (t: Pick<Test, 'teardown'>): StandInRos2 => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-ros2-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const command = join(folder, 'ros2')
  const calls = join(folder, 'calls')
  writeFileSync(command, createScript(folder), { mode: 0o755 })
  return {
    command,
    listCalls: () => (existsSync(calls) ? splitCalls(readFileSync(calls, 'utf8')) : []),
    hang: () => writeFileSync(join(folder, 'hang'), ''),
    slowDown: () => writeFileSync(join(folder, 'slow'), ''),
    hasBegun: () => existsSync(join(folder, 'begun')),
    clear: () => rmSync(calls, { force: true }),
  }
}

/**
 * Message that the tool publishes at a time: it writes the time in place of `header: auto`, and of
 * `now` where a time belongs (pub.py of ros2topic).
 */
export const publishAt = (operation: unknown, time: { sec: number; nanosec: number }): unknown => {
  const { argv } = operation as { argv: string[] }
  const message = JSON.parse(argv.at(-1) ?? '')
  if (message.header === 'auto') message.header = { stamp: time }
  else if (message.header?.stamp === 'now') message.header.stamp = time
  return message
}

/** Each call is the number of its arguments, and these. */
const splitCalls = (text: string): string[][] => {
  const words = text.split('\0')
  const calls: string[][] = []
  for (let at = 0; at < words.length - 1; ) {
    const count = Number(words[at])
    calls.push(words.slice(at + 1, at + 1 + count))
    at += 1 + count
  }
  return calls
}
