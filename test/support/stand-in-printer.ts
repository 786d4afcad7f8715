import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { createServer } from 'node:tls'
import { Aedes } from 'aedes'
import { issueAuthority } from '../../coordinator/kernel/tls/certificate.ts'

/** Full status in the shape of an X1 or P1; the values are invented. */
export const FULL_STATUS = {
  command: 'push_status',
  msg: 0,
  sequence_id: '0',
  gcode_state: 'RUNNING',
  mc_percent: 12,
  mc_remaining_time: 95,
  nozzle_temper: 219.5,
  nozzle_target_temper: 220,
  bed_temper: 54.8,
  bed_target_temper: 55,
  chamber_temper: 31,
  layer_num: 7,
  total_layer_num: 120,
  print_error: 0,
  hms: [],
  wifi_signal: '-52dBm',
  subtask_name: 'bracket',
  lights_report: [{ node: 'chamber_light', mode: 'on' }],
}

/** Answer to a command: success, unless a test refuses it; undefined for none. */
type AnswerCommand = (fields: Record<string, unknown>) => object | undefined

export interface StandInPrinter {
  port: number
  serial: string
  /** SHA-256 of the certificate, hexadecimal. */
  fingerprint: string
  /** What was published to the printer, oldest first. */
  requests: Record<string, Record<string, unknown>>[]
  /** Names and passwords of the logins. */
  logins: { username: string; password: string }[]
  /** Subscriptions so far. */
  subscribed: string[]
  /** Connections that are open. */
  sockets: Set<Socket>
  state: { answer: AnswerCommand; status: object }
  report(message: object): void
  /** Ends every connection. */
  cut(): void
  stop(): Promise<void>
}

interface StandInOptions {
  serial?: string
  accessCode?: string
  /** Port of an earlier printer, which this one takes the place of. */
  port?: number
}

/** A broker over TLS with a self-signed certificate, as it runs inside a printer. */
export const startPrinter = async ({
  serial = '01P00A000000001',
  accessCode = '31415926',
  port = 0,
}: StandInOptions = {}): Promise<StandInPrinter> => {
  const now = Date.now()
  const { certificate, key } = await issueAuthority(serial, {
    from: now - 60_000,
    to: now + 3_600_000,
  })
  const broker = await Aedes.createBroker()
  const sockets = new Set<Socket>()
  const server = createServer(
    { cert: certificate.toString(), key: key.export({ type: 'pkcs8', format: 'pem' }) },
    socket => {
      sockets.add(socket)
      socket.on('error', () => {}).on('close', () => sockets.delete(socket))
      broker.handle(socket)
    },
  )
  server.on('tlsClientError', () => {})
  const report = (message: object): void =>
    broker.publish(
      {
        cmd: 'publish',
        topic: `device/${serial}/report`,
        payload: JSON.stringify(message),
        qos: 0,
        retain: false,
        dup: false,
      },
      () => {},
    )
  const printer: StandInPrinter = {
    port,
    serial,
    fingerprint: certificate.fingerprint256.replaceAll(':', '').toLowerCase(),
    requests: [],
    logins: [],
    subscribed: [],
    sockets,
    state: {
      answer: fields => ({ ...fields, result: 'success', reason: 'success' }),
      status: FULL_STATUS,
    },
    report,
    cut: () => {
      for (const socket of sockets) socket.destroy()
    },
    stop: async () => {
      server.close()
      printer.cut()
      await new Promise<void>(resolve => broker.close(() => resolve()))
    },
  }
  broker.authenticate = (_client, username, password, done) => {
    printer.logins.push({ username: username ?? '', password: `${password ?? ''}` })
    done(null, username === 'bblp' && `${password}` === accessCode)
  }
  broker.on('subscribe', subscriptions => {
    printer.subscribed.push(...subscriptions.map(({ topic }) => topic))
  })
  broker.on('publish', ({ topic, payload, retain }, client) => {
    if (client === null || topic !== `device/${serial}/request` || retain) return
    const request = JSON.parse(`${payload}`) as Record<string, Record<string, unknown>>
    printer.requests.push(request)
    answerRequest(printer, request)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  printer.port = (server.address() as AddressInfo).port
  return printer
}

const answerRequest = (
  { report, state }: StandInPrinter,
  request: Record<string, Record<string, unknown>>,
): void => {
  for (const [section, fields] of Object.entries(request)) {
    if (section === 'pushing') report({ print: state.status })
    else {
      const answer = state.answer(fields)
      if (answer !== undefined) report({ [section]: answer })
    }
  }
}
