-- Takes a notebook to what can be printed: of each output the richest form that paper can show.

-- Four or five pages; all of a long output would be thousands.
local MOST_CHARACTERS = 20000
-- Of a line of the page; a longer word would run over its edge.
local LINE_CHARACTERS = 100

local function text_of(blocks)
  return pandoc.utils.stringify(pandoc.Pandoc(blocks))
end

local function formula(text)
  local bare = text:gsub('^%s*%$+', ''):gsub('%$+%s*$', '')
  return pandoc.Blocks{pandoc.Para{pandoc.Math('DisplayMath', bare)}}
end

local function broken(word)
  local parts = {}
  while pandoc.text.len(word) > LINE_CHARACTERS do
    table.insert(parts, pandoc.text.sub(word, 1, LINE_CHARACTERS))
    word = pandoc.text.sub(word, LINE_CHARACTERS + 1)
  end
  table.insert(parts, word)
  return table.concat(parts, '\n')
end

local function printed(text)
  local plain = text:gsub('\27%[[%d;?]*[A-Za-z]', '')
  local length, half = pandoc.text.len(plain), MOST_CHARACTERS // 2
  if length > MOST_CHARACTERS then
    plain = pandoc.text.sub(plain, 1, half)
      .. '\n… ' .. length - 2 * half .. ' characters are left out in print. …\n'
      .. pandoc.text.sub(plain, -half)
  end
  return (plain:gsub('%S+', broken))
end

local readers = {
  html = function(text) return pandoc.read(text, 'html+tex_math_dollars').blocks end,
  markdown = function(text) return pandoc.read(text, 'gfm+tex_math_dollars').blocks end,
  latex = formula,
  tex = formula,
}

local function read(block)
  local reader = block.t == 'RawBlock' and readers[block.format]
  return reader and reader(block.text) or pandoc.Blocks{block}
end

local function choose(blocks)
  local found
  for _, block in ipairs(blocks) do
    if block.t == 'CodeBlock' then
      found = found or pandoc.Blocks{pandoc.CodeBlock(printed(block.text))}
    elseif block.t ~= 'RawBlock' then
      -- An image.
      return pandoc.Blocks{block}
    else
      local shown = read(block)
      -- Of a page that is all script nothing would be left.
      found = found or (text_of(shown):match('%S') and shown)
    end
  end
  return found or pandoc.Blocks{}
end

local function without_id(block)
  -- Ids of cells and headings would become labels, and two alike an error.
  block.identifier = ''
  return block
end

return {
  {
    Div = function(div)
      if div.classes:includes('output') then
        div.content = choose(div.content)
      end
      return without_id(div)
    end,
    Meta = function(meta)
      meta.papersize, meta.fontsize = 'a4', '10pt'
      meta.margin = {x = '2cm', y = '2cm'}
      return meta
    end,
  },
  {
    RawBlock = read,
    RawInline = function(raw)
      if raw.format == 'tex' or raw.format == 'latex' then
        return pandoc.Math('InlineMath', raw.text)
      end
    end,
    Image = function(image)
      -- No other machine is asked for a picture.
      if image.src:match('^%a+://') then
        return pandoc.Link(#image.caption > 0 and image.caption or image.src, image.src)
      end
    end,
    Header = without_id,
  },
}
