import { connectAsync } from 'mqtt'

/* A Tasmota with relays and shutters, as its firmware answers (support_command.ino, CmndPower;
   xdrv_27_shutter.ino; xdrv_12_discovery.ino). */

interface Parts {
  url: string
  mac: string
  topic: string
  /** Kinds of its relays: 1 relay, 3 one of the two of a shutter. */
  relays: readonly number[]
}

interface StandInTasmota {
  /** State of each relay; one of a shutter drives its motor. */
  power: boolean[]
  /** Commands other than questions, oldest first. */
  commands: string[]
  /** Moves the shutters to their targets. */
  arrive(): Promise<void>
  stop(): Promise<void>
}

export const startTasmota = async ({ url, mac, topic, relays }: Parts): Promise<StandInTasmota> => {
  const client = await connectAsync(url, { protocolVersion: 4, reconnectPeriod: 50 })
  const count = Math.floor(relays.filter(kind => kind === 3).length / 2)
  const shutters = Array.from({ length: count }, () => ({ position: 0, direction: 0, target: 0 }))
  const power = relays.map(() => false)
  const commands: string[] = []

  const say = async (name: string, payload: object | string, retain = false): Promise<void> => {
    const text = typeof payload === 'string' ? payload : JSON.stringify(payload)
    await client.publishAsync(name, text, { qos: 1, retain })
  }
  const result = (payload: object): Promise<void> => say(`stat/${topic}/RESULT`, payload)
  const nameOf = (relay: number): string => (relays.length === 1 ? 'POWER' : `POWER${relay}`)
  const word = (on: boolean | undefined): string => (on ? 'ON' : 'OFF')
  const reportAll = () =>
    Object.fromEntries(power.map((on, at) => [nameOf(at + 1), word(on)] as const))
  const reportShutters = () =>
    Object.fromEntries(
      shutters.map(({ position, direction, target }, at) => [
        `Shutter${at + 1}`,
        { Position: position, Direction: direction, Target: target, Tilt: 0 },
      ]),
    )

  const setPower = async (relay: number, payload: string): Promise<void> => {
    // without a number, the command is about relay 1; number 0 is all relays
    if (relay > power.length) return
    const all = relay === 0 ? power.map((_, at) => at + 1) : [relay]
    for (const each of all) {
      power[each - 1] = payload === 'TOGGLE' ? !power[each - 1] : payload === 'ON'
      await result({ [nameOf(each)]: word(power[each - 1]) })
      await say(`stat/${topic}/${nameOf(each)}`, word(power[each - 1]))
    }
  }

  const moveShutter = async (number: number, target: number): Promise<void> => {
    const shutter = shutters[number - 1]
    if (shutter === undefined) return
    Object.assign(shutter, { target, direction: Math.sign(target - shutter.position) })
    await result(reportShutters())
  }

  const stopShutter = async (number: number): Promise<void> => {
    const shutter = shutters[number - 1]
    if (shutter === undefined) return
    const wasMoving = shutter.direction !== 0
    // before the answers: the next command may come meanwhile
    Object.assign(shutter, { target: shutter.position, direction: 0 })
    await result({ [`ShutterStop${number}`]: 'Done' })
    if (wasMoving) await result(reportShutters())
  }

  const obey = async (command: string, payload: string): Promise<void> => {
    const [, name = '', digits] = /^([A-Za-z]+)(\d*)$/.exec(command) ?? []
    const index = digits === '' || digits === undefined ? 1 : Number(digits)
    const verb = name.toUpperCase()
    if (verb === 'STATE') return result({ Time: '2026-01-01T00:00:00', ...reportAll() })
    if (verb === 'STATUS') {
      const sensors = { StatusSNS: { Time: '2026-01-01T00:00:00', ...reportShutters() } }
      return payload === '10' ? say(`stat/${topic}/STATUS10`, sensors) : undefined
    }
    commands.push(`${command} ${payload}`.trim())
    if (verb === 'POWER') return setPower(index, payload)
    if (verb === 'SHUTTEROPEN') return moveShutter(index, 100)
    if (verb === 'SHUTTERCLOSE') return moveShutter(index, 0)
    if (verb === 'SHUTTERPOSITION') return moveShutter(index, Number(payload))
    if (verb === 'SHUTTERSTOP') return stopShutter(index)
    return result({ Command: 'Unknown' })
  }

  const prefix = `cmnd/${topic}/`
  client.on('message', (name, bytes) => void obey(name.slice(prefix.length), `${bytes}`))
  await client.subscribeAsync(`${prefix}#`, { qos: 1 })
  await say(`tele/${topic}/LWT`, 'Online', true)
  await say(`tasmota/discovery/${mac}/config`, describe({ mac, topic, relays }, count), true)
  return {
    power,
    commands,
    arrive: async () => {
      for (const shutter of shutters) {
        Object.assign(shutter, { position: shutter.target, direction: 0 })
      }
      await result(reportShutters())
    },
    stop: () => client.endAsync(true),
  }
}

/** The announcement; lists of relays have a place for each that the firmware could have. */
const describe = ({ mac, topic, relays }: Omit<Parts, 'url'>, shutters: number): object => ({
  ip: '192.0.2.32',
  dn: topic,
  fn: relays.map((_, at) => `${topic} relay ${at + 1}`),
  hn: `${topic}-5349`,
  mac,
  md: 'Shelly 2.5',
  ty: 0,
  if: 0,
  ofln: 'Offline',
  onln: 'Online',
  state: ['OFF', 'ON', 'TOGGLE', 'HOLD'],
  sw: '14.2.0',
  t: topic,
  ft: '%prefix%/%topic%/',
  tp: ['cmnd', 'stat', 'tele'],
  rl: [...relays, ...Array.from({ length: 32 - relays.length }, () => 0)],
  so: { '4': 0, '30': 0, '68': 0 },
  lt_st: 0,
  sho: Array.from({ length: shutters }, () => 0),
  sht: Array.from({ length: shutters }, () => [0, 0, 0]),
  ver: 1,
})
