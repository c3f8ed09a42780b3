"""Five notebooks of the kinds that people bring, as cells."""

PANDAS = (
    "import numpy as np\nimport pandas as pd\nrng = np.random.default_rng(0)",
    "sales = pd.DataFrame({'day': pd.date_range('2025-01-01', periods=500), 'shop': "
    "rng.choice(list('abc'), 500), 'units': rng.integers(1, 90, 500)})\n"
    "sales['shop'] = sales['shop'].astype('category')",
    "def share(column):\n    return column / column.sum()\n"
    "by_shop = sales.groupby('shop', observed=True)['units'].agg(['sum', 'mean'])\n"
    "by_shop['share'] = share(by_shop['sum'])",
    "weekly = sales.set_index('day').resample('W')['units'].sum()\n"
    "best = weekly.idxmax()\nwide = sales.pivot_table(index='day', columns='shop', values='units', "
    "observed=True)",
    "groups = sales.groupby('shop', observed=True)\nrows = list(sales.head().itertuples())\n"
    "steps = (row for row in rows)\nnext(steps)",
)
SKLEARN = (
    "from dataclasses import dataclass\nimport numpy as np\n"
    "from sklearn.datasets import load_digits\n"
    "from sklearn.ensemble import RandomForestClassifier\n"
    "from sklearn.linear_model import LogisticRegression\n"
    "from sklearn.model_selection import GridSearchCV, train_test_split\n"
    "from sklearn.pipeline import make_pipeline\n"
    "from sklearn.preprocessing import FunctionTransformer, StandardScaler",
    "digits = load_digits()\nX, y = digits.data[:600], digits.target[:600]\n"
    "X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)",
    "def clip(x):\n    return np.clip(x, 0, LIMIT)\nLIMIT = 12\n"
    "pipeline = make_pipeline(FunctionTransformer(clip), StandardScaler(), "
    "LogisticRegression(max_iter=200))\npipeline.fit(X_train, y_train)",
    "search = GridSearchCV(RandomForestClassifier(n_estimators=10, random_state=0), "
    "{'max_depth': [2, 4]}, cv=2).fit(X_train, y_train)\nforest = search.best_estimator_",
    "@dataclass\nclass Result:\n    name: str\n    score: float\n"
    "results = [Result('pipeline', pipeline.score(X_test, y_test)), "
    "Result('forest', forest.score(X_test, y_test))]\nbest = max(results, key=lambda r: r.score)",
)
KERAS = (
    "import keras\nimport numpy as np\nkeras.utils.set_random_seed(1)",
    "x_train = np.random.default_rng(0).random((256, 8, 8, 1), dtype='float32')\n"
    "y_train = (x_train.mean((1, 2, 3)) > 0.5).astype('int32')",
    "inputs = keras.Input((8, 8, 1))\nx = keras.layers.Conv2D(4, 3, activation='relu')(inputs)\n"
    "x = keras.layers.GlobalAveragePooling2D()(x)\noutputs = keras.layers.Dense(2)(x)\n"
    "model = keras.Model(inputs, outputs)",
    "loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)\n"
    "model.compile('adam', loss, metrics=['accuracy'])\n"
    "stop = keras.callbacks.EarlyStopping(patience=2)\n"
    "history = model.fit(x_train, y_train, epochs=2, verbose=0, validation_split=0.2, "
    "callbacks=[stop])",
    "predicted = model.predict(x_train[:16], verbose=0)\nconv = model.layers[1]\n"
    "score = model.evaluate(x_train, y_train, verbose=0)",
)
PYTORCH = (
    "import torch\nfrom torch import nn\nfrom torch.utils.data import DataLoader, TensorDataset\n"
    "torch.manual_seed(0)\ndevice = 'cuda' if torch.cuda.is_available() else 'cpu'",
    "data = TensorDataset(torch.randn(256, 10), torch.randint(0, 2, (256,)))\n"
    "loader = DataLoader(data, batch_size=32, shuffle=True)",
    "class Net(nn.Module):\n    def __init__(self, width=16):\n        super().__init__()\n"
    "        self.layers = nn.Sequential(nn.Linear(10, width), nn.ReLU(), nn.Dropout(0.1), "
    "nn.Linear(width, 2))\n    def forward(self, x):\n        return self.layers(x)\n"
    "net = Net().to(device)\noptimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)\n"
    "scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)\n"
    "criterion = nn.CrossEntropyLoss()",
    "losses = []\nfor epoch in range(3):\n    for batch, target in loader:\n"
    "        optimizer.zero_grad()\n        loss = criterion(net(batch.to(device)), "
    "target.to(device))\n        loss.backward()\n        optimizer.step()\n"
    "        losses.append(loss.item())\n    scheduler.step()",
    "weights = net.state_dict()\nfirst = net.layers[0].weight\nbatches = iter(loader)\n"
    "best = {'epoch': epoch, 'weights': {k: v.clone() for k, v in weights.items()}}",
)
PLOTS = (
    "%matplotlib inline\nimport matplotlib.pyplot as plt\nimport numpy as np\n"
    "t = np.linspace(0, 10, 500)\nsignal = np.sin(t) + 0.1 * np.cos(9 * t)",
    "fig, (left, right) = plt.subplots(1, 2)\nline, = left.plot(t, signal)\n"
    "right.hist(signal, bins=20)\nleft.set_title('signal')",
    "spectrum = np.abs(np.fft.rfft(signal))\npeaks = np.argsort(spectrum)[-3:]\n"
    "colours = {'left': 'tab:blue', 'right': 'tab:red'}\n"
    "def save(figure, path='figure.png'):\n    figure.savefig(path)\n    return path\n"
    "path = save(fig)",
    "log = open('plots.log', 'w')\nlog.write(path)\nfor name, colour in colours.items():\n    pass",
)
# Cells, and the environment of their kernel.
BROUGHT = {
    "pandas": (PANDAS, "pytorch"),
    "scikit-learn": (SKLEARN, "pytorch"),
    "Keras": (KERAS, "tensorflow"),
    "PyTorch": (PYTORCH, "pytorch"),
    "plots": (PLOTS, "pytorch"),
}
