import fc from 'fast-check'
import { encodeData } from '../../../devices/links/ros2/message-data.ts'
import { computeTimeoutMs, parseOperation } from '../../../devices/links/ros2/operations.ts'
import { Ros2Cli } from '../../../devices/links/ros2/ros2-cli.ts'
import type { Json } from '../../../devices/profile.ts'
import robot from '../../../devices/profiles/ros2-robot.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { createStandInRos2 } from './stand-in-ros2.ts'

/** Text that shells, option parsers, paths, YAML or terminals treat in a way of their own. */
const HOSTILE = [
  '; touch /tmp/owned',
  '$(id)',
  '`id`',
  '| cat',
  '&& id',
  '--help',
  '-h',
  '--',
  '-w',
  '\n--once',
  '\r\n',
  '\0',
  "'",
  '"',
  '\\',
  '!!python/object/apply:os.system ["id"]',
  '<<',
  '&a [*a]',
  '#',
  '%s%n',
  '~',
  '*',
  '../..',
  '//',
  '/',
  '\u202e',
  '\u0085',
  '\u2028',
  '\ufeff',
  '\ud800',
  '😀',
  '{}',
  '1e400',
  '.nan',
]
const VALID = ['/cmd_vel2', '/arm/joint_1', 'status', 'std_msgs/msg/String', 'data', 'x']

const Part = fc.oneof(
  fc.constantFrom(...HOSTILE),
  fc.constantFrom(...VALID),
  fc.string({ unit: 'binary', maxLength: 12 }),
)
const Text = fc.array(Part, { minLength: 1, maxLength: 3 }).map(parts => parts.join(''))
/** Draws mostly valid values, so that hostile text in another place reaches the tool. */
const mostly = <T>(valid: fc.Arbitrary<T>): fc.Arbitrary<T | string> =>
  fc.oneof({ weight: 4, arbitrary: valid }, { weight: 1, arbitrary: Text })
const Topic = mostly(fc.constantFrom('/status', 'arm/joint_1'))
const Type = mostly(fc.constant('std_msgs/msg/String'))
const Name = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom('data', 'x', 'frame_id') },
  { weight: 1, arbitrary: Text },
)
const Value = fc.oneof(
  Text,
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.array(Text, { maxLength: 3 }),
)
const Data = fc.dictionary(Name, Value, { maxKeys: 3, noNullPrototype: true })

const OPTIONS = {
  drive: { topic: '/cmd_vel', msg_type: 'geometry_msgs/msg/Twist' },
  read_topics: [],
}

/** Arguments of a publication; undefined where it is refused. */
const plan = (params: object): string[] | undefined => {
  const verb = robot.verbs.publish
  const parsed = verb?.params.safeParse(params)
  if (parsed?.success !== true) return undefined
  try {
    const target = { device_id: 'dev_x', options: OPTIONS, envelope: {} }
    const [operation = null] = verb?.plan(parsed.data, target).operations ?? []
    return [...parseOperation(operation).argv]
  } catch (error) {
    if (error instanceof ShoalError) return undefined
    throw error
  }
}

interface HostileResult {
  /** Calls that reached the tool with exactly their arguments. */
  exact: number
  refused: number
  /** Calls that reached the tool in another form. */
  altered: string[]
}

/** Publishes hostile names and data through the plan and the tool; each arrives exactly, or is refused. */
export const publishHostile = async (
  t: Parameters<typeof createStandInRos2>[0],
  { calls, seed }: { calls: number; seed: number },
): Promise<HostileResult> => {
  const tool = createStandInRos2(t)
  const { PATH = '' } = process.env
  const cli = new Ros2Cli(tool.command, { PATH })
  const result: HostileResult = { exact: 0, refused: 0, altered: [] }
  const inputs = fc.sample(fc.tuple(Topic, Type, Data), { numRuns: calls, seed })
  for (const [topic, msg_type, data] of inputs) {
    const argv = plan({ topic, msg_type, data })
    if (argv === undefined) {
      result.refused += 1
      continue
    }
    const text = encodeData(data as Record<string, Json>)
    const wanted = ['topic', 'pub', '--once', '-w', '1', topic, msg_type, text]
    tool.clear()
    await cli.run(argv, { timeoutMs: computeTimeoutMs({ argv }) })
    const isExact = JSON.stringify(tool.listCalls()) === JSON.stringify([wanted])
    if (isExact && isSameData(text, data)) result.exact += 1
    else result.altered.push(JSON.stringify([topic, msg_type, data]))
  }
  return result
}

/** JSON has one zero. */
const isSameData = (text: string, data: unknown): boolean =>
  JSON.stringify(sortMembers(JSON.parse(text))) === JSON.stringify(sortMembers(data as object))

const sortMembers = (data: object): object =>
  Object.fromEntries(Object.entries(data).sort(([a], [b]) => (a < b ? -1 : 1)))
