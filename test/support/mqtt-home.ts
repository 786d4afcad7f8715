import type { MqttClient } from 'mqtt'
import { connectAsync } from 'mqtt'
import { findFreePort, startMosquitto } from './mosquitto.ts'

/* A household of invented devices on a real broker; the messages have the shape of the real ones. */

export const TASMOTA_MAC = '02A1B2C3D4E5'
export const TASMOTA_CONFIG = {
  ip: '192.0.2.31',
  dn: 'Heater',
  fn: ['Heater', 'Fan', null, null, null, null, null, null],
  hn: 'tasmota-C3D4E5-5349',
  mac: TASMOTA_MAC,
  md: 'Sonoff Dual R3',
  ty: 0,
  if: 0,
  cam: 0,
  ofln: 'Offline',
  onln: 'Online',
  state: ['OFF', 'ON', 'TOGGLE', 'HOLD'],
  sw: '14.2.0',
  t: 'tasmota_C3D4E5',
  ft: '%prefix%/%topic%/',
  tp: ['cmnd', 'stat', 'tele'],
  rl: [1, 1, 0, 0, 0, 0, 0, 0],
  swc: [-1, -1, -1, -1, -1, -1, -1, -1],
  btn: [0, 0, 0, 0, 0, 0, 0, 0],
  so: { '4': 0, '11': 0, '13': 0, '17': 0, '20': 0, '30': 0, '68': 0, '73': 0, '82': 0 },
  lk: 0,
  lt_st: 0,
  ver: 1,
}

export const SHELLY = 'shellyplus1pm-02a1b2c3d4e6'
const SHELLY_STATUS = {
  id: 0,
  source: 'init',
  output: false,
  apower: 0,
  voltage: 231.4,
  current: 0,
  aenergy: { total: 1500.5, by_minute: [0, 0, 0], minute_ts: 1_765_000_000 },
  temperature: { tC: 41.2, tF: 106.2 },
}

export const ZIGBEE_LAMP = '0x00158d0002a1b2c3'
const ZIGBEE_DOOR = '0x00158d0002a1b2c4'

export const ZIGBEE_DEVICES = [
  { ieee_address: '0x00124b0002a1b2c0', type: 'Coordinator', friendly_name: 'Coordinator' },
  {
    ieee_address: ZIGBEE_LAMP,
    type: 'Router',
    network_address: 4711,
    supported: true,
    disabled: false,
    friendly_name: 'workshop/lamp',
    interview_completed: true,
    power_source: 'Mains (single phase)',
    definition: {
      model: 'LED1836G9',
      vendor: 'IKEA',
      description: 'Bulb',
      exposes: [
        {
          type: 'light',
          features: [
            {
              type: 'binary',
              name: 'state',
              label: 'State',
              property: 'state',
              access: 7,
              value_on: 'ON',
              value_off: 'OFF',
              value_toggle: 'TOGGLE',
            },
            {
              type: 'numeric',
              name: 'brightness',
              property: 'brightness',
              access: 7,
              value_min: 0,
              value_max: 254,
            },
          ],
        },
        {
          type: 'numeric',
          name: 'linkquality',
          property: 'linkquality',
          access: 1,
          unit: 'lqi',
          value_min: 0,
          value_max: 255,
        },
      ],
    },
  },
  {
    ieee_address: ZIGBEE_DOOR,
    type: 'EndDevice',
    friendly_name: 'door',
    disabled: false,
    power_source: 'Battery',
    definition: {
      model: 'MCCGQ11LM',
      vendor: 'Aqara',
      exposes: [
        {
          type: 'binary',
          name: 'contact',
          property: 'contact',
          access: 1,
          value_on: false,
          value_off: true,
        },
        { type: 'numeric', name: 'battery', property: 'battery', access: 1, unit: '%' },
        { type: 'numeric', name: 'voltage', property: 'voltage', access: 1, unit: 'mV' },
      ],
    },
  },
]

const HOME_ASSISTANT_SENSOR = {
  '~': 'weather/station-7',
  name: 'Outside temperature',
  uniq_id: 'station-7-temperature',
  stat_t: '~/state',
  val_tpl: "{{ value_json['climate'].temperature | round(1) }}",
  dev_cla: 'temperature',
  unit_of_meas: '°C',
  avty: [{ t: '~/status' }],
  dev: { ids: ['station-7'], cns: [['mac', '02:A1:B2:C3:D4:E7']], name: 'Weather station' },
}

export const HOME_ASSISTANT_SWITCH = {
  name: 'Pump',
  unique_id: 'garden-pump',
  state_topic: 'garden/pump/state',
  command_topic: 'garden/pump/set',
  availability_topic: 'garden/pump/available',
  payload_available: 'yes',
  payload_not_available: 'no',
  device: { identifiers: 'garden-pump', name: 'Garden' },
}

export interface MqttHome {
  url: string
  /** What was published to command topics, oldest first; retained ones are marked. */
  commands: { topic: string; payload: string; retain?: true }[]
  /** Topics of what was asked, which changes nothing, oldest first. */
  questions: string[]
  say(topic: string, payload: object | string, retain?: boolean): Promise<void>
  /** Lets the devices do what they are told; a device that is not obedient is switched off only. */
  setObedient(obedient: boolean): void
  /** Announces the household with retained messages. */
  announce(): Promise<void>
  restart(): Promise<void>
  stop(): Promise<void>
}

const COMMAND_TOPICS = ['cmnd/#', '+/rpc', '+/+/+/set', '+/+/+/get', 'garden/pump/set', 'lab/+/set']

const isQuestion = (topic: string, payload: string): boolean =>
  /\/(STATE|get)$/.test(topic) || payload.includes('Shelly.GetStatus')

const startBroker = (port: number) =>
  startMosquitto(() => ({
    'mosquitto.conf': `listener ${port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\n`,
  }))

/** Starts a broker with the devices' side of the household. */
export const startMqttHome = async (): Promise<MqttHome> => {
  const port = await findFreePort()
  let broker = await startBroker(port)
  const client: MqttClient = await connectAsync(`mqtt://127.0.0.1:${port}`, {
    protocolVersion: 4,
    reconnectPeriod: 50,
  })
  let isObedient = true
  const say: MqttHome['say'] = async (topic, payload, retain = false) => {
    const text = typeof payload === 'string' ? payload : JSON.stringify(payload)
    await client.publishAsync(topic, text, { qos: 1, retain })
  }
  const home: MqttHome = {
    url: `mqtt://127.0.0.1:${port}`,
    commands: [],
    questions: [],
    say,
    setObedient: obedient => {
      isObedient = obedient
    },
    announce: () => announceAll(say),
    restart: async () => {
      await broker.stop()
      const connected = new Promise<void>(resolve => client.once('connect', () => resolve()))
      broker = await startBroker(port)
      await connected
    },
    stop: async () => {
      await client.endAsync(true)
      await broker.stop()
    },
  }
  client.on('message', (topic, bytes, { retain }) => {
    const payload = `${bytes}`
    if (isQuestion(topic, payload)) return void home.questions.push(topic)
    home.commands.push({ topic, payload, ...(retain && { retain }) })
    if (isObedient || payload === 'OFF') void obey(say, topic, payload)
  })
  await client.subscribeAsync(COMMAND_TOPICS, { qos: 1 })
  return home
}

const announceAll = async (say: MqttHome['say']): Promise<void> => {
  await say(`tasmota/discovery/${TASMOTA_MAC}/config`, TASMOTA_CONFIG, true)
  await say(
    `tasmota/discovery/${TASMOTA_MAC}/sensors`,
    { sn: { Time: '2026-01-01' }, ver: 1 },
    true,
  )
  await say('tele/tasmota_C3D4E5/LWT', 'Online', true)
  await say(`${SHELLY}/online`, 'true', true)
  await say(`${SHELLY}/status/switch:0`, SHELLY_STATUS, true)
  await say('zigbee2mqtt/bridge/state', { state: 'online' }, true)
  await say('zigbee2mqtt/bridge/devices', ZIGBEE_DEVICES, true)
  await say('zigbee2mqtt/workshop/lamp/availability', { state: 'online' }, true)
  await say('homeassistant/sensor/station-7/temperature/config', HOME_ASSISTANT_SENSOR, true)
  await say('homeassistant/switch/garden-pump/config', HOME_ASSISTANT_SWITCH, true)
  await say('garden/pump/available', 'yes', true)
}

/** The answer of the devices to a command. */
const obey = async (say: MqttHome['say'], topic: string, payload: string): Promise<void> => {
  const [, relay] = /^cmnd\/tasmota_C3D4E5\/(POWER\d)$/.exec(topic) ?? []
  if (relay !== undefined) {
    await say('stat/tasmota_C3D4E5/RESULT', { [relay]: payload })
    await say(`stat/tasmota_C3D4E5/${relay}`, payload)
  }
  if (topic === `${SHELLY}/rpc`) {
    const { params } = JSON.parse(payload)
    const change = { 'switch:0': { id: 0, output: params.on, source: 'MQTT' } }
    const notice = { src: SHELLY, dst: `${SHELLY}/events`, method: 'NotifyStatus' }
    await say(`${SHELLY}/events/rpc`, { ...notice, params: { ts: 1.5, ...change } })
  }
  if (topic === 'zigbee2mqtt/workshop/lamp/set')
    await say('zigbee2mqtt/workshop/lamp', {
      brightness: 254,
      linkquality: 120,
      ...JSON.parse(payload),
    })
  if (topic === 'garden/pump/set') await say('garden/pump/state', payload)
  if (topic === 'lab/laser/set')
    await say('lab/laser/state', { laser: { power: JSON.parse(payload).power } })
}
