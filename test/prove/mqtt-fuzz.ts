import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type FuzzOptions, fuzzBroker } from '../coordinator/fleet/broker/fuzz.ts'
import { busRig, type MakeBus, makeEmbeddedBus, mosquittoBus } from '../support/bus.ts'
import { mosquittoMissing } from '../support/mosquitto.ts'

/** Damaged MQTT packets against both buses: nothing falls, nobody else is harmed. */
export const main = async (argv: string[]): Promise<boolean> => {
  const { values } = parseArgs({
    args: argv,
    options: {
      packets: { type: 'string', default: '50000' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    },
  })
  const options = { packets: Number(values.packets), seed: Number(values.seed) }
  console.log(`seed ${options.seed}`)
  const results = [await run('embedded', makeEmbeddedBus, options)]
  if (mosquittoMissing) console.log(`not run with mosquitto: ${mosquittoMissing}`)
  else results.push(await run('mosquitto', mosquittoBus, options))
  return results.every(good => good)
}

/** Memory in use after everything that can go is gone. */
const heapMiB = (): number => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  return Math.round(process.memoryUsage().heapUsed / 1024 ** 2)
}

const run = async (name: string, makeBus: MakeBus, options: FuzzOptions): Promise<boolean> => {
  const endings: (() => unknown)[] = []
  const scope = { teardown: (end: () => unknown) => void endings.push(end) }
  const rig = await busRig(scope, makeBus)
  await fuzzBroker(rig, { ...options, packets: Math.ceil(options.packets / 10) })
  const before = heapMiB()
  const result = await fuzzBroker(rig, options)
  const grownMiB = heapMiB() - before
  for (const end of endings.reverse()) await end()
  console.log(name, { ...result, grownMiB })
  return result.misattributed === 0 && result.honestStayed
}
