import { parseArgs } from 'node:util'
import { publishHostile } from '../devices/links/ros2-hostile.ts'

/** Hostile names and data against the arguments of the ROS 2 tool: exactly as given, or refused. */
export const main = async (argv: string[]): Promise<boolean> => {
  const { values } = parseArgs({
    args: argv,
    options: {
      calls: { type: 'string', default: '10000' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    },
  })
  const seed = Number(values.seed)
  console.log(`seed ${seed}`)
  const endings: (() => unknown)[] = []
  const scope = { teardown: (end: () => unknown) => void endings.push(end) }
  try {
    const result = await publishHostile(scope, { calls: Number(values.calls), seed })
    console.log(`${result.exact} exact, ${result.refused} refused`, result.altered.slice(0, 5))
    return result.altered.length === 0 && result.exact > 0
  } finally {
    for (const end of endings) await end()
  }
}
