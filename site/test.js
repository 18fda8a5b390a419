// Plays the site in Chromium as a reader would: follows every link, searches in both languages, and
// looks at it in the dark and on a phone. SITE_PICTURES names a folder for pictures of it.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join, normalize } from 'node:path'
import { test } from 'node:test'
import puppeteer from 'puppeteer-core'

const site = 'dist'
const pictures = process.env.SITE_PICTURES
const KINDS = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.png': 'image/png' }

const server = createServer((request, response) => {
  let file = join(site, normalize(decodeURIComponent(new URL(request.url, 'http://site').pathname)))
  if (file.endsWith('/')) file += 'index.html'
  if (!existsSync(file) && existsSync(`${file}.html`)) file += '.html'
  if (!existsSync(file)) return response.writeHead(404).end()
  response.writeHead(200, { 'content-type': KINDS[extname(file)] ?? 'application/octet-stream' }).end(readFileSync(file))
})
await new Promise((ready) => server.listen(0, '127.0.0.1', ready))
const address = `http://127.0.0.1:${server.address().port}`
const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu']
})

/** A page in a tab of its own, which must load all that it asks for and log no error. */
async function open(path, screen = { width: 1280, height: 900 }) {
  const context = await browser.createBrowserContext()
  const page = await context.newPage()
  page.faults = []
  page.on('pageerror', (error) => page.faults.push(String(error)))
  page.on('response', (response) => response.status() >= 400 && page.faults.push(`${response.status()} ${response.url()}`))
  await page.setViewport(screen)
  await page.goto(address + path, { waitUntil: 'networkidle0' })
  return page
}

async function close(page, name) {
  if (pictures) await page.screenshot({ path: `${pictures}/${name}.png` })
  assert.deepEqual(page.faults, [])
  await page.browserContext().close()
}

/** Types into the search and gives the addresses of what is found, best first. */
async function search(page, words) {
  await page.click('.VPNavBarSearch button')
  await page.waitForSelector('.search-input')
  await page.type('.search-input', words)
  await page.waitForFunction(() => document.querySelector('.results .result, .no-results') !== null)
  return page.$$eval('.results .result', (found) => found.map((result) => result.getAttribute('href')))
}

test('every link within the site leads to a page, and to a heading of it', () => {
  const pages = readdirSync(site, { recursive: true }).filter((name) => name.endsWith('.html') && name !== '404.html')
  const text = new Map(pages.map((name) => [name, readFileSync(join(site, name), 'utf8')]))
  const dead = []
  let followed = 0
  for (const [name, html] of text) {
    for (const [, href] of html.matchAll(/<a [^>]*href="([^"]*)"/g)) {
      if (/^(https?:|mailto:)/.test(href)) continue
      const { pathname, hash } = new URL(href, `http://site/${name}`)
      const wanted = decodeURIComponent(pathname.slice(1)).replace(/(^|\/)$/, '$1index.html')
      // The lab's page has a schedule only for rows that its last run had: `make lab` writes it.
      if (hash && /^(zh\/)?lab(\.html)?$/.test(wanted)) continue
      const other = text.get(wanted) ?? text.get(`${wanted}.html`)
      const anchor = decodeURIComponent(hash.slice(1))
      followed++
      if (!other || (anchor && !other.includes(`id="${anchor}"`))) dead.push(`${name}: ${href}`)
    }
  }
  assert.deepEqual([...new Set(dead)], [])
  assert.ok(pages.length > 50 && followed > 2000, `${pages.length} pages, ${followed} links`)
})

test('no page shows a mark of Markdown', () => {
  const shown = (html) => html.replace(/<(pre|code|script|style)\b.*?<\/\1>/gs, '').replace(/<[^>]*>/g, '')
  const pages = readdirSync(site, { recursive: true }).filter((name) => name.endsWith('.html'))
  const marked = pages.filter((name) => shown(readFileSync(join(site, name), 'utf8')).includes('**'))
  assert.deepEqual(marked, [])
})

test('search finds "hold expires" on the page about holds', async () => {
  const page = await open('/')
  const found = await search(page, 'hold expires')
  assert.ok(found.slice(0, 5).some((href) => href.startsWith('/holds')), found.join(' '))
  await close(page, 'search')
})

test('search cuts Chinese into words, in the middle of a sentence too', async () => {
  const page = await open('/zh/')
  const found = await search(page, '超时未支付')
  assert.ok(found.length > 0 && found.every((href) => href.startsWith('/zh/')), found.join(' '))
  assert.ok(found.slice(0, 5).some((href) => /^\/zh\/(holds|start)/.test(href)), found.join(' '))
  await close(page, 'search-zh')
  // In the middle of a Chinese sentence: only a search that cuts words finds it.
  const other = await open('/zh/')
  const turned = await search(other, '释放库存')
  assert.ok(turned.some((href) => href.startsWith('/zh/holds')), turned.join(' '))
  await close(other, 'search-zh-turned')
})

test('search says so when there is nothing', async () => {
  const page = await open('/')
  assert.deepEqual(await search(page, 'xylophone'), [])
  await close(page, 'nothing')
})

test('code in several languages is in tabs', async () => {
  const page = await open('/')
  const shown = () => page.$$eval('.vp-code-group .blocks > div', (blocks) =>
    blocks.filter((block) => getComputedStyle(block).display !== 'none').map((block) => block.className.match(/language-(\w+)/)[1]))
  assert.deepEqual(await shown(), ['php'])
  const label = await page.$$('.vp-code-group .tabs label')
  assert.ok(label.length >= 4)
  await label[1].click()
  assert.deepEqual(await shown(), ['python'])
  await close(page, 'tabs')
})

test('dark is dark, and stays', async () => {
  const page = await open('/start')
  const light = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
  const before = await light()
  await page.click('.VPNavBarAppearance button')
  await page.waitForFunction((was) => getComputedStyle(document.body).backgroundColor !== was, {}, before)
  const after = await light()
  await page.reload({ waitUntil: 'networkidle0' })
  assert.equal(await light(), after)
  await close(page, 'dark')
})

test('a phone scrolls down only, and has the menu behind a button', async () => {
  for (const path of ['/', '/zh/', '/commands', '/performance', '/zh/start']) {
    const page = await open(path, { width: 390, height: 844, isMobile: true, hasTouch: true })
    const width = await page.evaluate(() => document.documentElement.scrollWidth)
    assert.ok(width <= 390, `${path} is ${width} wide`)
    await page.click('.VPLocalNav .menu')
    await page.waitForSelector('.VPSidebar.open')
    await close(page, `phone${path.replaceAll('/', '-')}`)
  }
})

test('the other language has the same page', async () => {
  const page = await open('/security')
  await page.hover('.VPNavBarTranslations')
  await page.click('.VPNavBarTranslations a')
  await page.waitForFunction(() => location.pathname.startsWith('/zh/security'))
  await close(page, 'language')
})

test.after(async () => {
  await browser.close()
  server.close()
})
