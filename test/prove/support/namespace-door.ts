import { openDoor } from './door.ts'

/* Program in a network namespace: a unix socket leads to the coordinator's port, and a port on
loopback leads to PostgreSQL, to which connections without TLS are allowed on loopback alone. */

const [path = '', port = '', storeHost = '', storePort = ''] = process.argv.slice(2)
const host = '127.0.0.1'
await openDoor({ path }, { port: Number(port), host })
await openDoor({ port: Number(storePort), host }, { port: Number(storePort), host: storeHost })
process.stdin.once('end', () => process.exit(0)).resume()
console.log('open')
