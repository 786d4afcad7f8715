import t from 'tap'
import { findUdpPort, StandInCopter } from '../devices/links/stand-in-copter.ts'
import { openDeviceFleet } from '../support/device-fleet.ts'
import { waitUntil } from '../support/wait-until.ts'

/* A real coordinator and a real daemon with a copter and robots at its links. */

t.test(
  'mavlink-status answers from the link of the cell, and from what arrives elsewhere',
  async t => {
    const port = await findUdpPort()
    const connection = `udp:127.0.0.1:${port}`
    const link = { kind: 'mavlink', connection, vehicles: [{ name: 'kestrel' }] }
    const { call } = await openDeviceFleet(t, { links: [link] })
    const ask = (input: object) => call('operator', 'POST', '/v1/skills/mavlink-status', input)
    const copter = new StandInCopter(t, port)
    const heard = await waitUntil('the copter is heard', async () => {
      const { body } = await ask({ connection })
      return body.available === true && body
    })
    t.match(heard, { source: 'link', system_id: 1, mode: 'stabilize', gps_fix: '3d' })
    const silent = await ask({ connection: `udp:127.0.0.1:${await findUdpPort()}` })
    t.match(silent, { status: 200, body: { available: false, data_state: 'empty' } })
    t.match(await ask({ connection: 'udp:192.0.2.1:14550' }), { status: 403 })
    t.match(await ask({ connection: 'serial:/dev/ttyS0' }), { status: 422 })
    t.strictSame(copter.received, [])
  },
)
