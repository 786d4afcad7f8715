import { connect, type Socket } from 'node:net'
import { HOLD } from './answer.ts'

/**
 * Opens streams and keeps them open. Arguments: url, key, streams. Prints `open N` when all have
 * begun, and ends when its standard input does.
 */
const [url = '', key = '', total = '0'] = process.argv.slice(2)
const { hostname, port } = new URL(url)
const body = JSON.stringify({
  model: 'model-a:7b',
  messages: [{ role: 'user', content: HOLD }],
  stream: true,
})
const head = [
  'POST /v1/chat/completions HTTP/1.1',
  `host: ${hostname}`,
  `authorization: Bearer ${key}`,
  'content-type: application/json',
  `content-length: ${body.length}`,
].join('\r\n')

const open = (): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    socket.once('error', reject)
    let answer = ''
    const look = (piece: Buffer): void => {
      answer += piece
      if (!answer.startsWith('HTTP/1.1 200')) reject(new Error(answer))
      if (!answer.includes('data:')) return
      socket.off('data', look)
      socket.resume()
      resolve(socket)
    }
    socket.on('data', look)
    socket.write(`${head}\r\n\r\n${body}`)
  })

/** Connections that are opened at a time. */
const AT_A_TIME = 50
let left = Number(total)
const opener = async (): Promise<void> => {
  while (left-- > 0) await open()
}
await Promise.all(Array.from({ length: AT_A_TIME }, opener))
console.log(`open ${total}`)
process.stdin.resume().once('end', () => process.exit())
