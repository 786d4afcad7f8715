import { onLauncherGone } from '../../../shared/lifeline.ts'
import { startForwarder } from './forward.ts'

/* Program: forwards the connections of the first port to the others. */

const [port = 0, ...targets] = process.argv.slice(2).map(Number)
const forwarder = await startForwarder(port, targets)
const stop = (): void => void forwarder.close()
process.once('SIGTERM', stop)
onLauncherGone(process.env, process.stdin, stop)
console.log(JSON.stringify({ msg: 'forwarder is up', port: forwarder.port }))
